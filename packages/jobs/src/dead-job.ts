/** Thrown by a handler when no later attempt could succeed: the job is dead at once. */
export class DeadJob extends Error {
  override readonly name = 'DeadJob'
}
