/**
 * Replaces the platform module of the official client, to omit its JSON Schema validator: a third of the client's size.
 * The server has already validated its results.
 */
export const CORS_IS_POSSIBLE = true;

export class DefaultJsonSchemaValidator {
  getValidator() {
    return (data: unknown) => ({ valid: true as const, data, errorMessage: undefined });
  }
}
