import type { Trx } from '../database.ts'
import type { RandomBytes } from '../secrets/sealed-secret.ts'
import type { ServerKeys } from '../secrets/server-key.ts'
import { generateCodeSet, hashRecoveryCode } from './recovery-code.ts'
import { replaceRecoveryCodes } from './recovery-code-repository.ts'

/** The dependencies of new codes: the source of every secret, and the key of their hashes. */
export interface IssueRecoveryCodesDeps {
  readonly now: () => Date
  readonly randomBytes: RandomBytes
  readonly serverKeys: Pick<ServerKeys, 'hmac'>
}

/**
 * Makes the codes of a factor, in place of its earlier codes. Only the hashes of codes are stored.
 * @returns the codes, to be shown once
 */
export async function issueRecoveryCodes(
  trx: Trx,
  { now, randomBytes, serverKeys }: IssueRecoveryCodesDeps,
  factorId: string,
): Promise<readonly string[]> {
  const codes = generateCodeSet(randomBytes)
  const hashes = codes.map((code) => hashRecoveryCode(serverKeys.hmac, factorId, code))
  await replaceRecoveryCodes(trx, { factorId, hashes, now: now() })
  return codes
}
