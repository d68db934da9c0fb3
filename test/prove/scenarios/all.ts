// Every scenario, the longest first, so that the short ones fill the gaps.
import type { Scenario } from '../scenario.ts'
import { backlogResumes } from './backlog-resumes.ts'
import { busyMachine } from './busy-machine.ts'
import { campaignKills } from './campaign-kill.ts'
import { campaignsOutliveRecords } from './campaign-outlives-records.ts'
import { clockSkew } from './clock-skew.ts'
import { clockSkewAlone } from './clock-skew-alone.ts'
import { clusterReshard } from './cluster-reshard.ts'
import { deadLetterInCampaign } from './dead-letter-in-campaign.ts'
import { events } from './events.ts'
import { expiredBacklog } from './expired-backlog.ts'
import { clusterFailover, sentinelFailover, sentinelFailoverReplicated } from './failover.ts'
import { frozenWorker } from './frozen-worker.ts'
import { galleryMedia } from './gallery-media.ts'
import { halfOpenRedis } from './half-open-redis.ts'
import { hostileClients } from './hostile-clients.ts'
import { idempotencyRace } from './idempotency-race.ts'
import { lostReplies } from './lost-replies.ts'
import { manyLanes } from './many-lanes.ts'
import { noisyNeighbour } from './noisy-neighbour.ts'
import { overload } from './overload.ts'
import { pace } from './pace.ts'
import { partition, partitionWithoutMinReplicas } from './partition.ts'
import { poisonJobs } from './poison-jobs.ts'
import { pollBudget } from './poll-budget.ts'
import { powerLoss } from './power-loss.ts'
import { producerKill } from './producer-kill.ts'
import { providerLines } from './provider-line.ts'
import { providerOutage } from './provider-outage.ts'
import { providerPhysics } from './provider-physics.ts'
import { redisFull } from './redis-full.ts'
import { redisKill } from './redis-kill.ts'
import { redisRefuses } from './redis-refuses.ts'
import { refusedRepeat } from './refused-repeat.ts'
import { requeueStorm } from './requeue-storm.ts'
import { rollingRestarts } from './rolling-restarts.ts'
import { rollingUpdate } from './rolling-update.ts'
import { s3Outage } from './s3-outage.ts'
import { slowCrowd } from './slow-crowd.ts'
import { stall } from './stall.ts'
import { storm429 } from './storm-429.ts'
import { webhooks } from './webhooks.ts'
import { workerKills } from './worker-kill.ts'

export const SCENARIOS: readonly Scenario[] = [
  sentinelFailoverReplicated,
  sentinelFailover,
  clusterFailover,
  partition,
  partitionWithoutMinReplicas,
  clusterReshard,
  hostileClients,
  poisonJobs,
  powerLoss,
  clockSkewAlone,
  providerPhysics,
  ...campaignKills,
  ...campaignsOutliveRecords,
  deadLetterInCampaign,
  s3Outage,
  galleryMedia,
  frozenWorker,
  redisKill,
  ...workerKills,
  halfOpenRedis,
  redisFull,
  ...redisRefuses,
  lostReplies,
  events,
  ...providerLines,
  providerOutage,
  backlogResumes,
  manyLanes,
  storm429,
  pollBudget,
  webhooks,
  refusedRepeat,
  producerKill,
  rollingRestarts,
  rollingUpdate,
  clockSkew,
  expiredBacklog,
  idempotencyRace,
  pace,
  busyMachine,
  overload,
  slowCrowd,
  noisyNeighbour,
  stall,
  requeueStorm,
]
