// Sending messages again over HTTP, as an account's own programs do.
import { expect } from 'vitest'
import { z } from 'zod'
import type { Service, Tenant } from './service.ts'
import { eventually } from './wait.ts'

const counts = { matched: z.int(), without_content: z.int(), campaign_over: z.int(), failed: z.int() }
const requeueAnswer = z.object({
  message: z.string(),
  data: z.union([z.object({ job_id: z.string(), status_url: z.string() }), z.object(counts)]).optional(),
  error: z.object({ code: z.string(), details: z.array(z.object({ path: z.string() })) }).optional(),
})
const jobAnswer = z.object({
  data: z.object({
    job_id: z.string(),
    state: z.string(),
    requeued: z.int(),
    ended_at: z.string().nullable(),
    ...counts,
  }),
})
export type JobDocument = z.infer<typeof jobAnswer>['data']

/** POST /messages/requeue. */
export async function requeueRequest(
  service: Pick<Service, 'api'>,
  tenant: Pick<Tenant, 'apiKey'>,
  body: object,
  headers: Record<string, string> = {},
) {
  const answer = await service.api.as(tenant.apiKey).post('/messages/requeue', body, headers)
  const { data, ...rest } = requeueAnswer.parse(answer.json)
  return {
    status: answer.status,
    body: { ...rest, data: data && 'matched' in data ? data : undefined },
    jobId: data && 'job_id' in data ? data.job_id : undefined,
    statusUrl: data && 'job_id' in data ? data.status_url : undefined,
  }
}

/** GET /jobs/{id}. */
export async function jobOf(service: Pick<Service, 'api'>, tenant: Pick<Tenant, 'apiKey'>, id: string) {
  const { status, json } = await service.api.as(tenant.apiKey).get(`/jobs/${id}`)
  return { status, body: json }
}

/** Has all that matches sent again, and returns the job once it is done. */
export async function requeueAll(
  service: Pick<Service, 'api'>,
  tenant: Pick<Tenant, 'apiKey'>,
  body: object,
  limitMs = 60_000,
): Promise<JobDocument> {
  const { status, jobId = '', body: answer } = await requeueRequest(service, tenant, body)
  expect(status, answer.message).toBe(202)
  return eventually(
    async () => {
      const { data } = jobAnswer.parse((await jobOf(service, tenant, jobId)).body)
      return data.state === 'done' ? data : undefined
    },
    `the job ${jobId} is done`,
    limitMs,
  )
}
