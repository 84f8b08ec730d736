import encode from "qr";

/** A picture of an address, for the camera of a phone. */
export function pictureOf(address: string): HTMLImageElement {
  const picture = document.createElement("img");
  picture.className = "qr";
  picture.alt = `QR code of ${address}`;
  picture.src = `data:image/svg+xml,${encodeURIComponent(encode(address, "svg"))}`;
  return picture;
}
