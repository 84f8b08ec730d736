/** `dotenv`: the values of the environment are the manifest's. */
export const config = (): { parsed: object } => ({ parsed: {} });
export const configDotenv = config;
export const parse = (): object => ({});
export const populate = (): void => {};
export default { config, configDotenv, parse, populate };
