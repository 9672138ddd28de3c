/** How a kind of background work is retried. Delays grow from `firstDelaySeconds`, doubling, to `longestDelaySeconds`. */
export interface TaskOptions {
  readonly retryLimit: number
  readonly firstDelaySeconds: number
  readonly longestDelaySeconds: number
  /** How long one attempt may take. */
  readonly timeoutSeconds: number
  /** Payloads that carry links, codes or keys are encrypted in the queue's tables. */
  readonly sealed: boolean
}

/** A kind of background work, whatever its payload. */
export interface AnyTask extends TaskOptions {
  readonly name: string
}

/** A kind of background work; its payload is JSON. */
export interface Task<Payload extends object> extends AnyTask {
  /** Only in the type: what `send` and `work` agree on. */
  readonly payload?: Payload
}

/** The dead-letter queue of a task: what has failed for good, until an operator looks. */
export function deadQueue(task: AnyTask): string {
  return `${task.name}_dead`
}

/** 60 attempts over more than a day: 5 s, 10 s, … up to half an hour. For what must not be lost in an outage. */
export const RETRY_FOR_A_DAY = { retryLimit: 60, firstDelaySeconds: 5, longestDelaySeconds: 1_800 } as const

export function defineTask<Payload extends object>(name: string, options: TaskOptions): Task<Payload> {
  return { name, ...options }
}
