import { defineTask } from '@trestle/jobs/task.ts'
import { IMPORT_TEXTS } from '../errors.ts'

/** The time limit of an attempt. A file of 256 MiB takes minutes. */
const TIMEOUT_SECONDS = 4 * 3_600
/** Together with their delays, these attempts cover an outage of an hour. */
export const IMPORT_ATTEMPTS = 20

export interface ImportJob {
  readonly importId: number
}

/** Imports the file of an operator. One additional attempt only reports that the import has failed. */
export const importTask = defineTask<ImportJob>('import_products', {
  retryLimit: IMPORT_ATTEMPTS,
  firstDelaySeconds: 2,
  delaySecondsMax: 300,
  timeoutSeconds: TIMEOUT_SECONDS,
})

/** The error of an import whose attempts have all failed, or that no worker has continued. */
export const GIVEN_UP = { type: 'SERVER_ERROR', description: IMPORT_TEXTS.givenUp } as const
