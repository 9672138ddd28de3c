import { z } from 'zod'
import { factorNameTaken, friendlyNameTooLong } from '../factor-errors.ts'
import type { Factor } from './factor.ts'

const NAME_LENGTH_MAX = 120

/** The name that a user gives a factor or a passkey. */
export const friendlyNameField = z.string().optional().meta({ maxLength: NAME_LENGTH_MAX, example: 'My phone' })

/** Checks the name that a user gives a factor or a passkey. @throws friendlyNameTooLong */
export function requireFriendlyName(name: string): string {
  if ([...name].length <= NAME_LENGTH_MAX) return name
  throw friendlyNameTooLong({ max: NAME_LENGTH_MAX })
}

/**
 * Checks that no other factor of the user has a name. No index can check that for recovery codes, which have their own table.
 * @throws factorNameTaken
 */
export function requireFreeName(name: string, others: readonly Pick<Factor, 'friendlyName'>[]): void {
  if (name.trim() !== '' && others.some(({ friendlyName }) => friendlyName === name)) refuseTakenName(name)
}

/** Refuses a name that another factor of the user has. @throws factorNameTaken */
export function refuseTakenName(name: string): never {
  throw factorNameTaken({ name })
}
