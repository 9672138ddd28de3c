import { existsSync } from 'node:fs'

/** The example of settings at the root of a checkout. Images do not have it. */
const EXAMPLE = new URL('../../../../.env.example', import.meta.url)

/** Whether this process runs in a checkout, where `npm start` exists, and not in an image. */
export function isCheckout(): boolean {
  return existsSync(EXAMPLE)
}
