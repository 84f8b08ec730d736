/**
 * The time of an alarm, in Unix ms: at least its scheduled time, even if this machine's clock is behind. Otherwise
 * the handler would set the alarm for the same time again and again.
 */
export const timeOf = (alarm?: Pick<AlarmInvocationInfo, "scheduledTime">): number =>
  Math.max(Date.now(), alarm?.scheduledTime ?? 0);
