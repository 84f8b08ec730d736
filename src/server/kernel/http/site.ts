import type { Settings } from "../settings/env.ts";
import { ACCENT } from "./colors.ts";

/** The server's appearance on pages. */
export interface Site {
  title: string;
  /** URL of the icon, `https:` or `data:`; if absent, pages make an icon from the title and the accent color. */
  icon?: string | undefined;
  /** The accent, as a hex colour. */
  color: string;
}

/** The appearance from the configuration. */
export function siteOf(settings: Settings): Site {
  const { SERVER_TITLE, SERVER_NAME, SERVER_ICONS = [], SERVER_ICON, SERVER_COLOR } = settings;
  const title = SERVER_TITLE ?? SERVER_NAME;
  const color = SERVER_COLOR ?? ACCENT;
  const icons = [SERVER_ICON ?? "", ...SERVER_ICONS.map(({ src }) => src)];
  const icon = icons.find((src) => /^(https:|data:image\/)/.test(src) && URL.canParse(src));
  return { title, color, icon };
}
