/** `dotenv`, without effect: environment variables come from the manifest. */
export const config = (): { parsed: object } => ({ parsed: {} });
export const configDotenv = config;
export const parse = (): object => ({});
export const populate = (): void => {};
export default { config, configDotenv, parse, populate };
