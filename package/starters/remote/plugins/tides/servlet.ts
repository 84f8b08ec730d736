/** Serves Tides, the MCP server at localhost:8788. remote.json has what it offers. */
import { defineRemote } from "edge-servlets/remote";
import { defineServlet } from "edge-servlets/servlet";
import remote from "./remote.json";

export default defineServlet(defineRemote(remote));
