import { expect, test } from "vitest";
import { CELLS, changedCells, inPieces, isZero, piecesOf, putPiece } from "../../../src/state/pieces.ts";
import { BLOCK } from "../../../src/wasm/marks.ts";
import { Chance } from "../fuzz/chance.ts";
