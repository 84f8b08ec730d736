/** An empty stand-in for Node's types, to which a package's types may refer: servlets have no Node API. */
declare namespace NodeJS {}
