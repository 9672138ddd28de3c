/** How many attempts of a day were counted under a key, and when the day began, in epoch milliseconds. */
export interface CountedAttempts {
  readonly attempts: number
  readonly since: number
}

/** The state that decides on an attempt at a code. Counts are undefined where nothing was counted yet. */
export interface AttemptCounts {
  /** Attempts at the code itself. */
  readonly ofCode: number
  /** Attempts at the codes of the address. */
  readonly ofAddress: CountedAttempts | undefined
  /** Attempts of the client's network at them. */
  readonly ofNetwork: CountedAttempts | undefined
}

/** An attempt: its moment in epoch milliseconds, and whether the user has a session in the network that it comes from. */
export interface ModelAttempt {
  readonly attemptsMax: number
  readonly isKnownNetwork: boolean
  readonly now: number
}

const DAY_MS = 86_400_000
const QUARTER_MS = 900_000
/** A day admits so many attempts at an address, and a network so many of them before it gets no further ones. */
const OF_A_DAY_MAX = 100
const OF_A_NETWORK_MAX = 3

/**
 * The model of an attempt at a code (reference: Attempts at codes). A property test compares it with the function `count_guess`.
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

/** The count under a key after an attempt that is compared. */
export function countOne(counted: CountedAttempts | undefined, now: number): CountedAttempts {
  return isOfToday(counted, now) ? { ...counted, attempts: counted.attempts + 1 } : { attempts: 1, since: now }
}

function isOfToday(counted: CountedAttempts | undefined, now: number): counted is CountedAttempts {
  return counted !== undefined && counted.since > now - DAY_MS
}
