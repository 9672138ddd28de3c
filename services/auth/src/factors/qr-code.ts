import { renderSVG } from 'uqr'

/** Modules of white around the code, as its standard wants. */
const BORDER = 4
const PIXELS_PER_MODULE = 5

/**
 * A QR code as the text of an SVG, with as much error correction as its size has room for. Clients put it into a data URI as it
 * is: no `#` may stand in it. @param text of 2,953 bytes at most
 */
export function qrCodeSvg(text: string): string {
  return renderSVG(text, { ecc: 'L', boostEcc: true, border: BORDER, pixelSize: PIXELS_PER_MODULE })
}
