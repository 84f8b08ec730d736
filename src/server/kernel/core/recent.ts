/** True within `ms` of this Unix time, on either side: where the clock was set back by more, it is not recent. */
export const isRecent = (at: number, ms: number): boolean => Math.abs(Date.now() - at) < ms;
