import { get } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'

const POLL_MS = 40
const REQUEST_TIMEOUT_MS = 2_000

/**
 * Requests the URL repeatedly until the answer has the status 200.
 *
 * @throws the reason of `signal` if the signal is aborted first
 */
export async function waitUntilReady(url: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted()
    if ((await statusOf(url, signal)) === 200) return
    await delay(POLL_MS, undefined, { signal }).catch(() => signal.throwIfAborted())
  }
}

/** Returns whether the URL currently answers with the status 200. */
export async function isReady(url: string): Promise<boolean> {
  return (await statusOf(url, AbortSignal.timeout(REQUEST_TIMEOUT_MS))) === 200
}

/** Returns the status of the answer, or `undefined` if there is no answer. */
function statusOf(url: string, signal: AbortSignal): Promise<number | undefined> {
  return new Promise((resolve) => {
    const request = get(url, { agent: false, timeout: REQUEST_TIMEOUT_MS, signal }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
    request.once('timeout', () => request.destroy())
    request.once('error', () => resolve(undefined))
  })
}
