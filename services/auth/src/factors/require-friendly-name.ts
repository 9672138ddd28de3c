import { validationFailed } from '../errors.ts'
import { factorNameTaken } from '../factor-errors.ts'
import type { Factor } from './factor.ts'

const NAME_LENGTH_MAX = 120

/** The name that a person gives a factor or a passkey. @throws validationFailed */
export function requireFriendlyName(name: string): string {
  if ([...name].length <= NAME_LENGTH_MAX) return name
  throw validationFailed({ message: `friendly_name may not be longer than ${NAME_LENGTH_MAX} characters` })
}

/** Refuses a name that another factor of the user has; recovery codes have a table of their own. @throws factorNameTaken */
export function requireFreeName(name: string, others: readonly Pick<Factor, 'friendlyName'>[]): void {
  if (name.trim() !== '' && others.some(({ friendlyName }) => friendlyName === name)) throw friendlyNameTaken(name)
}

/** Says that another factor of the user has a name. */
export function friendlyNameTaken(name: string): Error {
  return factorNameTaken({ message: `A factor with the friendly name "${name}" for this user already exists` })
}
