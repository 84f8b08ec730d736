import { CORPUS, isLarge } from "./corpus.ts";
import { testPackages } from "./tested.ts";

testPackages(CORPUS.filter((used) => !isLarge(used)));
