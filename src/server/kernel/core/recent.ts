/** True within `ms` of this Unix time, before or after: after a larger clock change it is not recent. */
export const isRecent = (at: number, ms: number): boolean => Math.abs(Date.now() - at) < ms;
