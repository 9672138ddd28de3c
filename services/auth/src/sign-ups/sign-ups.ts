import type { Lanes } from '@trestle/database/lanes.ts'
import { goTogether } from '../go-together.ts'
import { callSignUp, callSignUpsAtOnce, isAtOnce, type SignUp, type SignUpOutcome } from './sign-up-repository.ts'

/** Signups of this process on their way to the database. */
export interface SignUps {
  /**
   * Signs a user up, or finds that somebody has the identifier.
   * @returns also who that is, for the audit trail alone
   * @throws 503 where it would wait for too long
   */
  signUp(input: SignUp): Promise<SignUpOutcome>
}

/** Signups that need no confirmation go together: see `goTogether`. */
export function createSignUps(lanes: Lanes): SignUps {
  const alone = (input: SignUp) => callSignUp(lanes, input)
  const atOnce = goTogether<SignUp, SignUpOutcome>({ many: (inputs) => callSignUpsAtOnce(lanes, inputs), alone })
  return { signUp: (input) => (isAtOnce(input) ? atOnce(input) : alone(input)) }
}
