import { existsSync } from 'node:fs'

/**
 * Returns the hint below an error about missing settings, as a line that begins with `hint:`. `npm start` creates the file that
 * the hint names.
 * @param service the name of the service, such as `auth`
 * @param hasStart whether `npm start` exists
 */
export function adviceForMissing(
  service: string,
  { hasStart }: { readonly hasStart: boolean } = { hasStart: isCheckout() },
): string {
  if (!hasStart) return 'hint: set them in the environment, or in a file that you pass with -c'
  const file = `.data/${service}.env`
  return `hint: npm start writes ${file} for development: pass it with -c ${file}, or copy .env.example to .env`
}

/** The example settings at the root of a checkout. Images do not contain this file. */
const EXAMPLE = new URL('../../../../.env.example', import.meta.url)

/** Returns whether this process runs in a checkout instead of an image. `npm start` exists only in a checkout. */
export function isCheckout(): boolean {
  return existsSync(EXAMPLE)
}
