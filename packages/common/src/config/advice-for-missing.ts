import { existsSync } from 'node:fs'

/**
 * The hint below an error about missing settings of a service, a line that begins with `hint:`. `npm start` writes the file
 * that the hint names.
 * @param service its name, as in `auth`
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

/** The example of settings at the root of a checkout. Images do not have it. */
const EXAMPLE = new URL('../../../../.env.example', import.meta.url)

/** Whether this process runs in a checkout, where `npm start` exists, and not in an image. */
export function isCheckout(): boolean {
  return existsSync(EXAMPLE)
}
