import encode from "qr";

/** An image of the QR code for an address. */
export function pictureOf(address: string): HTMLImageElement {
  const picture = document.createElement("img");
  picture.className = "qr";
  picture.alt = `QR code of ${address}`;
  picture.src = `data:image/svg+xml,${encodeURIComponent(encode(address, "svg"))}`;
  return picture;
}
