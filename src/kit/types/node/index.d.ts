/** Stands for the types of Node where those of a package refer to them: servlets have nothing of it. */
declare namespace NodeJS {}
