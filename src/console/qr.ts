import encode from "qr";

/** A QR code of an address. */
export function pictureOf(address: string): HTMLImageElement {
  const picture = document.createElement("img");
  picture.className = "qr";
  picture.alt = `QR code of ${address}`;
  picture.src = `data:image/svg+xml,${encodeURIComponent(encode(address, "svg"))}`;
  return picture;
}
