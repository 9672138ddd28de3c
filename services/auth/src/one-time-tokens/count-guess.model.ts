/** How many guesses of a day were counted under a key, and when the day began, in epoch milliseconds. */
export interface CountedGuesses {
  readonly guesses: number
  readonly since: number
}

/** The state that decides on a guess at a code. Counts are undefined where nothing was counted yet. */
export interface GuessCounts {
  /** Guesses at the code itself. */
  readonly ofCode: number
  /** Guesses at the codes of the address. */
  readonly ofAddress: CountedGuesses | undefined
  /** Guesses of the client's network at them. */
  readonly ofNetwork: CountedGuesses | undefined
}

/** A guess: its moment in epoch milliseconds, and whether the user has a session in the network that it comes from. */
export interface ModelGuess {
  readonly guessesMax: number
  readonly isKnownNetwork: boolean
  readonly now: number
}

const DAY_MS = 86_400_000
const QUARTER_MS = 900_000
/** A day admits so many guesses at an address, and a network so many of them before it gets no further ones. */
const OF_A_DAY_MAX = 100
const OF_A_NETWORK_MAX = 3

/** The model of a guess at a code (reference: Guesses at codes). A property test compares it with the function `count_guess`. */
export function isCompared(
  { ofCode, ofAddress, ofNetwork }: GuessCounts,
  { guessesMax, isKnownNetwork, now }: ModelGuess,
): boolean {
  if (ofCode >= guessesMax) return false
  if (isKnownNetwork || !isOfToday(ofAddress, now)) return true
  const hasHadShare = isOfToday(ofNetwork, now) && ofNetwork.guesses >= OF_A_NETWORK_MAX
  const further = hasHadShare ? 0 : Math.floor((now - ofAddress.since) / QUARTER_MS)
  return ofAddress.guesses < OF_A_DAY_MAX + further
}

/** The count under a key after a guess that is compared. */
export function countOne(counted: CountedGuesses | undefined, now: number): CountedGuesses {
  return isOfToday(counted, now) ? { ...counted, guesses: counted.guesses + 1 } : { guesses: 1, since: now }
}

function isOfToday(counted: CountedGuesses | undefined, now: number): counted is CountedGuesses {
  return counted !== undefined && counted.since > now - DAY_MS
}
