import { exists, FileError } from "edge-servlets/files";
import { defineServlet } from "edge-servlets/servlet";

export default defineServlet({
  tools: {
    look: {
      description: "Looks for a file without having folders.",
      handler: () => {
        try {
          return exists("/data/a");
        } catch (error) {
          return error instanceof FileError ? `${error.code} ${error.message}` : "another error";
        }
      },
    },
  },
});
