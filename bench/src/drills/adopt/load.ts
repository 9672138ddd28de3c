import { say } from '../../program.ts'
import { addFactor, type Known, refreshAndWrite, signUp } from './users.ts'

/** The outcomes of the requests of a load. A user who still waits for an answer sends none. */
export interface LoadCounts {
  readonly acknowledged: number
  /** How the other requests failed. A status 0 is no answer. */
  readonly failures: readonly string[]
}

/** Requests that go on until they are stopped. */
export interface Load {
  stop(): Promise<LoadCounts>
}

/** Each so-manyth request signs a user up, and each so-manyth of these enrols an authenticator app. */
const SIGN_UP_EVERY = 5
const FACTOR_EVERY = 25
/** So many failures are printed. */
const SAID_MAX = 10
/** Emails of the load are not those of the users before it. */
const FIRST_NUMBER = 1_000_000

/**
 * Sends refreshes, changes of metadata, sign-ups and enrolments to the old service. Each user has one request at a time.
 * @param known gets the users who have signed up, and what was acknowledged
 * @param rate requests a second
 */
export function sendLoad(url: string, known: Known[], rate: number): Load {
  const busy = new Set<Known>()
  const open = new Set<Promise<void>>()
  const failures: string[] = []
  let [ticks, acknowledged] = [0, 0]
  const rememberOutcome = (request: Promise<void>) =>
    request.then(
      () => {
        acknowledged += 1
      },
      (error: unknown) => {
        failures.push(String(error))
      },
    )
  const sendOne = async (): Promise<void> => {
    ticks += 1
    const number = ticks
    const user = known[number % known.length]
    if (number % SIGN_UP_EVERY === 0) {
      await rememberOutcome(join(url, known, number))
    } else if (user !== undefined && !busy.has(user)) {
      busy.add(user)
      await rememberOutcome(refreshAndWrite(url, user, number))
      busy.delete(user)
    }
  }
  const timer = setInterval(() => {
    const request = sendOne().finally(() => open.delete(request))
    open.add(request)
  }, 1_000 / rate)
  return {
    stop: async () => {
      clearInterval(timer)
      await Promise.all(open)
      return { acknowledged, failures }
    },
  }
}

/**
 * Prints what became of a load.
 * @throws Error when nothing was acknowledged, as on an overloaded machine: then nothing was tried
 */
export function sayAcknowledged({ acknowledged, failures }: LoadCounts, moment: string): void {
  say(`${acknowledged} requests were acknowledged ${moment}, ${failures.length} failed`)
  for (const failure of failures.slice(0, SAID_MAX)) say(`failed: ${failure}`)
  if (acknowledged === 0) throw new Error('the old service has acknowledged nothing meanwhile: take a quieter machine')
}

/** @throws Error when the service does not acknowledge everything */
async function join(url: string, known: Known[], number: number): Promise<void> {
  const made = await signUp(url, FIRST_NUMBER + number)
  try {
    if (number % FACTOR_EVERY === 0) await addFactor(url, made)
  } finally {
    known.push(made)
  }
}
