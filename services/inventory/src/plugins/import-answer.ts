import type { HttpError } from '@trestle/common/errors/define-error.ts'
import { RawJson } from '@trestle/endpoints/endpoints.ts'
import { importRefused } from '../errors.ts'
import { recordBody } from '../requests/envelope.ts'
import type { ImportEvent, ImportOutcome } from '../use-cases/import-products.ts'

/** An import that is under way, and what it reports. */
export type ImportRun = AsyncGenerator<ImportEvent, ImportOutcome>
/** Logs a fault. Returns the error that a client sees in its place. */
type NoteFault = (thrown: unknown) => HttpError

/** Returns the report as the body of one answer. @throws importRefused when a record of an atomic import failed */
export async function answerAtEnd(run: ImportRun): Promise<RawJson> {
  for (let step = await run.next(); ; step = await run.next()) {
    if (!step.done) continue
    const refusal = refusalOf(step.value)
    if (refusal) throw refusal
    return recordBody(200, JSON.stringify(step.value.report))
  }
}

/**
 * Yields a line for each event, and a last line for the outcome. After the first bytes of the answer, a fault can only be reported in a
 * line. When the client leaves between two lines, the loop ends the generator, and so the import.
 */
export async function* answerOnTheWay(run: ImportRun, noteFault: NoteFault): AsyncGenerator<RawJson, void> {
  let hasBegun = false
  try {
    for await (const line of linesOf(run)) {
      yield toLine(line)
      hasBegun = true
    }
  } catch (error) {
    if (!hasBegun) throw error
    yield toLine(fatalLine(noteFault(error)))
  }
}

/** Every event of the import, and at its end the line of the outcome. */
async function* linesOf(run: ImportRun): AsyncGenerator<object, void> {
  yield lastLine(yield* run)
}

/** A summary, or the error of an import that stored nothing, with the report. */
function lastLine(outcome: ImportOutcome): object {
  const refusal = refusalOf(outcome)
  return { ...(refusal ? fatalLine(refusal) : { type: 'summary' }), ...outcome.report }
}

/** The error of an atomic import that stored nothing because a record failed. */
function refusalOf({ verdict, report }: ImportOutcome): HttpError | undefined {
  return verdict === 'taken-back' ? importRefused({ details: { report } }) : undefined
}

function fatalLine({ code: type, message: description }: HttpError): object {
  return { type: 'fatal', error: { type, description } }
}

function toLine(line: object): RawJson {
  return new RawJson(JSON.stringify(line))
}
