/** Middleware of HTTP frameworks, which has nothing to do here. */
const middleware = () => (): void => {};
export default middleware;
export const cors = middleware;
