/**
 * Replaces the platform module of the official client. Its JSON Schema validator is a third of its size, and this server
 * has already checked its results.
 */
export const CORS_IS_POSSIBLE = true;

export class DefaultJsonSchemaValidator {
  getValidator() {
    return (data: unknown) => ({ valid: true as const, data, errorMessage: undefined });
  }
}
