import type { AboutFeature } from "../../kernel/about.ts";
import { Fault } from "../../kernel/core/errors.ts";
import { timingIn } from "./schedule.ts";
import { timesOf } from "./times.ts";

export default {
  bindings: ["SCHEDULES"],
  off: "schedules",
  needs: ["people"],
  storageCountedBy: "ATTEMPTS",
  calledAs: ["schedule", "Schedule"],
  optional: {
    add: "Bind SCHEDULES in wrangler.toml",
    limits: ["schedules", "scheduleMs"],
  },
  servletsNeed: {
    bindings: ["KEY_RING", "TASKS", "SCHEDULES"],
    of: ({ schedules = {} }) => Object.keys(schedules).length > 0,
    because: "has schedules",
  },
  problemIn({ schedules = {} }) {
    for (const [name, declared] of Object.entries(schedules))
      try {
        const { after } = timesOf(timingIn(declared), 0);
        if (after(Date.now()) === undefined)
          return `schedules.${name}: it is never due, as no such day exists: correct its cron line`;
      } catch (error) {
        return `schedules.${name}: ${Fault.from(error).message}`;
      }
    return undefined;
  },
} satisfies AboutFeature;
