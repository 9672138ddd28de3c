/** The attempts counted under a key within a day, and the start of that day, in milliseconds since 1970. */
export interface CountedAttempts {
  readonly attempts: number
  readonly since: number
}

/** The state that decides about an attempt at a code. A count is `undefined` if nothing was counted yet. */
export interface AttemptCounts {
  /** Attempts at the code itself. */
  readonly ofCode: number
  /** Attempts at the codes of the address. */
  readonly ofAddress: CountedAttempts | undefined
  /** Attempts at the codes of the address from the client's network. */
  readonly ofNetwork: CountedAttempts | undefined
}

/** An attempt: its time in milliseconds since 1970, and whether the user has a session in the client's network. */
export interface ModelAttempt {
  readonly attemptsMax: number
  readonly isKnownNetwork: boolean
  readonly now: number
}

const DAY_MS = 86_400_000
const QUARTER_MS = 900_000
/** The daily attempts at an address. A network with fewer than 3 of them may make further attempts beyond this limit. */
const OF_A_DAY_MAX = 100
const OF_A_NETWORK_MAX = 3

/**
 * The model of an attempt at a code (reference: Attempts at codes). A property test compares it with the SQL function
 * `count_guess`.
 */
export function isCompared(
  { ofCode, ofAddress, ofNetwork }: AttemptCounts,
  { attemptsMax, isKnownNetwork, now }: ModelAttempt,
): boolean {
  if (ofCode >= attemptsMax) return false
  if (isKnownNetwork || !isOfToday(ofAddress, now)) return true
  const hasHadShare = isOfToday(ofNetwork, now) && ofNetwork.attempts >= OF_A_NETWORK_MAX
  const further = hasHadShare ? 0 : Math.floor((now - ofAddress.since) / QUARTER_MS)
  return ofAddress.attempts < OF_A_DAY_MAX + further
}

/** The count under a key after a compared attempt. */
export function countOne(counted: CountedAttempts | undefined, now: number): CountedAttempts {
  return isOfToday(counted, now) ? { ...counted, attempts: counted.attempts + 1 } : { attempts: 1, since: now }
}

function isOfToday(counted: CountedAttempts | undefined, now: number): counted is CountedAttempts {
  return counted !== undefined && counted.since > now - DAY_MS
}
