import { isCheckout } from '@trestle/common/lifecycle/command-line.ts'

/**
 * What to do when required settings of a service are missing. packages/stack writes the file that this names.
 * @param service its name, as in `auth`
 * @param hasStart whether `npm start` exists
 */
export function adviceForMissing(service: string, hasStart = isCheckout()): string {
  if (!hasStart) return 'hint: set them in the environment, or in a file that you pass with -c'
  const file = `.data/${service}.env`
  return `hint: npm start writes ${file} for development: pass it with -c ${file}, or copy .env.example to .env`
}
