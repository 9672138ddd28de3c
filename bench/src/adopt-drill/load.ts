import { addFactor, type Known, refreshAndWrite, signUp } from './users.ts'

/** What a load has sent, and how many requests were not acknowledged. */
export interface LoadCounts {
  readonly sent: number
  readonly failed: number
}

/** Requests that go on until they are stopped. */
export interface Load {
  stop(): Promise<LoadCounts>
}

/** Each so-manyth request signs a user up, and each so-manyth of these enrols an authenticator app. */
const SIGN_UP_EVERY = 5
const FACTOR_EVERY = 25
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
  const counts = { sent: 0, failed: 0 }
  const sendOne = async (): Promise<void> => {
    counts.sent += 1
    const number = counts.sent
    const user = known[number % known.length]
    if (number % SIGN_UP_EVERY === 0) {
      if (!(await join(url, known, number))) counts.failed += 1
    } else if (user !== undefined && !busy.has(user)) {
      busy.add(user)
      if (!(await refreshAndWrite(url, user, number))) counts.failed += 1
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
      return counts
    },
  }
}

/** @returns whether the service has acknowledged everything */
async function join(url: string, known: Known[], number: number): Promise<boolean> {
  const made = await signUp(url, FIRST_NUMBER + number).catch(() => undefined)
  if (made === undefined) return false
  const isDone =
    number % FACTOR_EVERY === 0
      ? await addFactor(url, made).then(
          () => true,
          () => false,
        )
      : true
  known.push(made)
  return isDone
}
