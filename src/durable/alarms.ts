/**
 * The time for an alarm's work, in Unix ms: an alarm that goes off proves that its time has come, where this
 * machine's clock is behind. To set it again for that time would set it again and again.
 */
export const timeOf = (alarm?: Pick<AlarmInvocationInfo, "scheduledTime">): number =>
  Math.max(Date.now(), alarm?.scheduledTime ?? 0);
