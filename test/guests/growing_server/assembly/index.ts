// The same, whose memory lasts for others.
export * from "../../growing/assembly/index";
