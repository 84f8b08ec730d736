/** `rights` of WASI preview 1: what may be done with a descriptor. */
export const RIGHT_READ = 1n << 1n;
export const RIGHT_WRITE = 1n << 6n;
export const RIGHTS_ALL = 0x1fffffffn;
