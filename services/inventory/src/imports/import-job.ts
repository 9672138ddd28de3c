import { defineTask } from '@trestle/jobs/task.ts'
import { IMPORT_TEXTS } from '../errors.ts'

/** An attempt may take this long. A file of 256 MiB takes minutes. */
const TIMEOUT_SECONDS = 4 * 3_600
/** Attempts that import. With their delays they outlast an outage of an hour. */
export const IMPORT_ATTEMPTS = 20

/** The import that a job runs. */
export interface ImportJob {
  readonly importId: number
}

/** Imports the file of an operator. The attempt behind the last one that imports only reports that the import has failed. */
export const importTask = defineTask<ImportJob>('import_products', {
  retryLimit: IMPORT_ATTEMPTS,
  firstDelaySeconds: 2,
  delaySecondsMax: 300,
  timeoutSeconds: TIMEOUT_SECONDS,
})

/** The error of an import whose attempts have all failed, or which no worker has taken up again. */
export const GIVEN_UP = { type: 'SERVER_ERROR', description: IMPORT_TEXTS.givenUp } as const
