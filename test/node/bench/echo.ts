/** This project with a servlet that moves what it is given, for the megabyte. */
import { createApp } from "../../../src/app.ts";
import { bundle } from "./bundle.gen.ts";

export default createApp(bundle, {});
