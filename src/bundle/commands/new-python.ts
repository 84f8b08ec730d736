/** Why no servlet is made in Python, and what to do instead. */
export const WITHOUT_KIT = (folder: string) =>
  `There is no template for Python. A servlet needs the interpreter in its .wasm, as an Extism plugin, and no package
registry has that: what PyPI has (componentize-py) makes components, which this server does not run. Nothing was made.

Instead, with Extism's compiler for Python, which this project's tests do not try:
  1. Install extism-py from https://github.com/extism/python-pdk/releases
  2. In ${folder}/servlet.py, write the functions list_tools and call_tool, each with the decorator
     @extism.plugin_fn: extism.input_json() is what they are given, and extism.output_json(…) what they answer.
     docs/other-languages.md has the shapes.
  3. extism-py ${folder}/servlet.py -o ${folder}/servlet.wasm
  4. npm run servlets -- inspect ${folder}/servlet.wasm
     says whether the server takes it, and what its calls cost`;
