/** True within `ms` of this Unix time, before it too: nothing lasts longer because the clock was set back. */
export const isRecent = (at: number, ms: number): boolean => Math.abs(Date.now() - at) < ms;
