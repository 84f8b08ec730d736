/** Middleware of HTTP frameworks, without effect here. */
const middleware = () => (): void => {};
export default middleware;
export const cors = middleware;
