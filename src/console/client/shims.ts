/**
 * What the official client takes from its platform. Its validator of results by their schemas is a third of its size, and
 * this server has checked them.
 */
export const CORS_IS_POSSIBLE = true;

export class DefaultJsonSchemaValidator {
  getValidator() {
    return (data: unknown) => ({ valid: true as const, data, errorMessage: undefined });
  }
}
