/** Thrown by a handler when no later attempt could succeed: the job has failed for good. */
export class Hopeless extends Error {
  override readonly name = 'Hopeless'
}
