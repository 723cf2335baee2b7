"""The one table: what every string, bytes and uuid field means whose meaning Kafka's definitions do not give.

Message name -> dotted field path -> meaning. Kafka marks some fields itself (`entityType` topicName, groupId,
transactionalId); those need not stand here. See entities.py for what the meanings lead to, and for what happens to
a field that is missing: its API is not served.

Source: Kafka's message definitions (`common/message/*.json`), read field by field for 3.9.1 and 4.3.1.
"""

from bifrost.wire.entity import Entity


def _neutral(paths: str) -> dict[str, Entity]:
    return dict.fromkeys(paths.split(), Entity.NEUTRAL)


def _members(paths: str) -> dict[str, Entity]:
    return dict.fromkeys(paths.split(), Entity.MEMBER_ID)


CLASSIFICATION: dict[str, dict[str, Entity]] = {
    # Not by its meaning: the session puts the namespace's prefix before it (headers.request_body_offset).
    "RequestHeader": _neutral("ClientId"),
    # UserData is read by members of the same group only; what is done to it: filters/groups/consumer_payload.py.
    "ConsumerProtocolSubscription": _neutral("UserData RackId") | {"Topics": Entity.TOPIC_NAME},
    "ConsumerProtocolAssignment": _neutral("UserData"),
    "ProduceRequest": _neutral("TopicData.PartitionData.Records") | {"TopicData.TopicId": Entity.TOPIC_ID},
    "ProduceResponse": _neutral("NodeEndpoints.Rack")
    | {
        "Responses.TopicId": Entity.TOPIC_ID,
        "Responses.PartitionResponses.RecordErrors.BatchIndexErrorMessage": Entity.ERROR_TEXT,
        "Responses.PartitionResponses.ErrorMessage": Entity.ERROR_TEXT,
        "NodeEndpoints.Host": Entity.BROKER_HOST,
    },
    "FetchRequest": _neutral("RackId")
    | {
        "ClusterId": Entity.CLUSTER_ID,
        "ReplicaState": Entity.FOLLOWER,
        "Topics.TopicId": Entity.TOPIC_ID,
        "Topics.Partitions.ReplicaDirectoryId": Entity.FOLLOWER,
        "ForgottenTopicsData.TopicId": Entity.TOPIC_ID,
    },
    "FetchResponse": _neutral("Responses.Partitions.Records NodeEndpoints.Rack")
    | {"Responses.TopicId": Entity.TOPIC_ID, "NodeEndpoints.Host": Entity.BROKER_HOST},
    "ListOffsetsRequest": {},
    "ListOffsetsResponse": {},
    "MetadataRequest": {"Topics.TopicId": Entity.TOPIC_ID},
    "MetadataResponse": _neutral("Brokers.Rack")
    | {"Brokers.Host": Entity.BROKER_HOST, "ClusterId": Entity.CLUSTER_ID, "Topics.TopicId": Entity.TOPIC_ID},
    "OffsetCommitRequest": _neutral("GroupInstanceId Topics.Partitions.CommittedMetadata")
    | {"MemberId": Entity.MEMBER_ID, "Topics.TopicId": Entity.TOPIC_ID},
    "OffsetCommitResponse": {"Topics.TopicId": Entity.TOPIC_ID},
    "OffsetFetchRequest": {"Groups.MemberId": Entity.MEMBER_ID, "Groups.Topics.TopicId": Entity.TOPIC_ID},
    "OffsetFetchResponse": _neutral("Topics.Partitions.Metadata Groups.Topics.Partitions.Metadata")
    | {"Groups.Topics.TopicId": Entity.TOPIC_ID},
    "FindCoordinatorRequest": {"Key": Entity.COORDINATOR_KEY, "CoordinatorKeys": Entity.COORDINATOR_KEY},
    "FindCoordinatorResponse": {
        "ErrorMessage": Entity.ERROR_TEXT,
        "Host": Entity.BROKER_HOST,
        "Coordinators.Key": Entity.COORDINATOR_KEY,
        "Coordinators.Host": Entity.BROKER_HOST,
        "Coordinators.ErrorMessage": Entity.ERROR_TEXT,
    },
    "JoinGroupRequest": _neutral("GroupInstanceId ProtocolType Protocols.Name Reason")
    | {"MemberId": Entity.MEMBER_ID, "Protocols.Metadata": Entity.SUBSCRIPTION},
    "JoinGroupResponse": _neutral("ProtocolType ProtocolName Members.GroupInstanceId")
    | _members("Leader MemberId Members.MemberId")
    | {"Members.Metadata": Entity.SUBSCRIPTION},
    "HeartbeatRequest": _neutral("GroupInstanceId") | _members("MemberId"),
    "HeartbeatResponse": {},
    "LeaveGroupRequest": _neutral("Members.GroupInstanceId Members.Reason")
    | _members("MemberId Members.MemberId"),
    "LeaveGroupResponse": _neutral("Members.GroupInstanceId") | _members("Members.MemberId"),
    "SyncGroupRequest": _neutral("GroupInstanceId ProtocolType ProtocolName")
    | _members("MemberId Assignments.MemberId")
    | {"Assignments.Assignment": Entity.ASSIGNMENT},
    "SyncGroupResponse": _neutral("ProtocolType ProtocolName") | {"Assignment": Entity.ASSIGNMENT},
    "DescribeGroupsRequest": {},
    "DescribeGroupsResponse": _neutral(
        "Groups.GroupState Groups.ProtocolType Groups.ProtocolData Groups.Members.GroupInstanceId"
    )
    | {
        "Groups.Members.MemberId": Entity.MEMBER_ID,
        "Groups.Members.ClientId": Entity.CLIENT_ID,
        "Groups.Members.ClientHost": Entity.CLIENT_HOST,
        "Groups.Members.MemberMetadata": Entity.SUBSCRIPTION,
        "Groups.Members.MemberAssignment": Entity.ASSIGNMENT,
        "Groups.ErrorMessage": Entity.ERROR_TEXT,
    },
    "ListGroupsRequest": _neutral("StatesFilter TypesFilter"),
    "ListGroupsResponse": _neutral("Groups.ProtocolType Groups.GroupState Groups.GroupType"),
    "SaslHandshakeRequest": _neutral("Mechanism"),
    "SaslHandshakeResponse": _neutral("Mechanisms"),
    "ApiVersionsRequest": _neutral("ClientSoftwareName ClientSoftwareVersion"),
    "ApiVersionsResponse": _neutral("SupportedFeatures.Name FinalizedFeatures.Name"),
    "CreateTopicsRequest": _neutral("Topics.Configs.Name Topics.Configs.Value"),
    "CreateTopicsResponse": _neutral("Topics.Configs.Name Topics.Configs.Value")
    | {"Topics.TopicId": Entity.TOPIC_ID, "Topics.ErrorMessage": Entity.ERROR_TEXT},
    "DeleteTopicsRequest": {"Topics.TopicId": Entity.TOPIC_ID},
    "DeleteTopicsResponse": {
        "Responses.TopicId": Entity.TOPIC_ID,
        "Responses.ErrorMessage": Entity.ERROR_TEXT,
    },
    "DeleteRecordsRequest": {},
    "DeleteRecordsResponse": {},
    "InitProducerIdRequest": {},
    "InitProducerIdResponse": {},
    "OffsetForLeaderEpochRequest": {},
    "OffsetForLeaderEpochResponse": {},
    "AddPartitionsToTxnRequest": {},
    "AddPartitionsToTxnResponse": {},
    "AddOffsetsToTxnRequest": {},
    "AddOffsetsToTxnResponse": {},
    "EndTxnRequest": {},
    "EndTxnResponse": {},
    "TxnOffsetCommitRequest": _neutral("GroupInstanceId Topics.Partitions.CommittedMetadata")
    | _members("MemberId"),
    "TxnOffsetCommitResponse": {},
    "DescribeConfigsRequest": _neutral("Resources.ConfigurationKeys")
    | {"Resources.ResourceName": Entity.RESOURCE_NAME},
    # Neutral for topics and groups; of a broker's, filters/configs/broker_configs.py keeps those that are.
    "DescribeConfigsResponse": _neutral(
        "Results.Configs.Name Results.Configs.Value Results.Configs.Synonyms.Name "
        "Results.Configs.Synonyms.Value Results.Configs.Documentation"
    )
    | {"Results.ErrorMessage": Entity.ERROR_TEXT, "Results.ResourceName": Entity.RESOURCE_NAME},
    "SaslAuthenticateRequest": _neutral("AuthBytes"),
    "SaslAuthenticateResponse": _neutral("ErrorMessage AuthBytes"),
    "CreatePartitionsRequest": {},
    "CreatePartitionsResponse": {"Results.ErrorMessage": Entity.ERROR_TEXT},
    "DeleteGroupsRequest": {},
    "DeleteGroupsResponse": {},
    "OffsetDeleteRequest": {},
    "OffsetDeleteResponse": {},
    "DescribeClusterRequest": {},
    "DescribeClusterResponse": _neutral("Brokers.Rack")
    | {"ErrorMessage": Entity.ERROR_TEXT, "ClusterId": Entity.CLUSTER_ID, "Brokers.Host": Entity.BROKER_HOST},
    "ConsumerGroupHeartbeatRequest": _neutral("InstanceId RackId ServerAssignor")
    | _members("MemberId")
    | {"SubscribedTopicRegex": Entity.TOPIC_REGEX, "TopicPartitions.TopicId": Entity.TOPIC_ID},
    "ConsumerGroupHeartbeatResponse": _members("MemberId")
    | {"ErrorMessage": Entity.ERROR_TEXT, "Assignment.TopicPartitions.TopicId": Entity.TOPIC_ID},
    "ConsumerGroupDescribeRequest": {},
    "ConsumerGroupDescribeResponse": _neutral(
        "Groups.GroupState Groups.AssignorName Groups.Members.InstanceId Groups.Members.RackId"
    )
    | {
        "Groups.Members.MemberId": Entity.MEMBER_ID,
        "Groups.Members.ClientId": Entity.CLIENT_ID,
        "Groups.ErrorMessage": Entity.ERROR_TEXT,
        "Groups.Members.ClientHost": Entity.CLIENT_HOST,
        "Groups.Members.SubscribedTopicRegex": Entity.TOPIC_REGEX,
        "Groups.Members.Assignment.TopicPartitions.TopicId": Entity.TOPIC_ID,
        "Groups.Members.TargetAssignment.TopicPartitions.TopicId": Entity.TOPIC_ID,
    },
    "ShareGroupHeartbeatRequest": _neutral("RackId") | _members("MemberId"),
    "ShareGroupHeartbeatResponse": _members("MemberId")
    | {"ErrorMessage": Entity.ERROR_TEXT, "Assignment.TopicPartitions.TopicId": Entity.TOPIC_ID},
    "ShareGroupDescribeRequest": {},
    "ShareGroupDescribeResponse": _neutral("Groups.GroupState Groups.AssignorName Groups.Members.RackId")
    | {
        "Groups.Members.MemberId": Entity.MEMBER_ID,
        "Groups.Members.ClientId": Entity.CLIENT_ID,
        "Groups.ErrorMessage": Entity.ERROR_TEXT,
        "Groups.Members.ClientHost": Entity.CLIENT_HOST,
        "Groups.Members.Assignment.TopicPartitions.TopicId": Entity.TOPIC_ID,
    },
    "ShareFetchRequest": _members("MemberId")
    | {"Topics.TopicId": Entity.TOPIC_ID, "ForgottenTopicsData.TopicId": Entity.TOPIC_ID},
    "ShareFetchResponse": _neutral("Responses.Partitions.Records NodeEndpoints.Rack")
    | {
        "ErrorMessage": Entity.ERROR_TEXT,
        "Responses.TopicId": Entity.TOPIC_ID,
        "Responses.Partitions.ErrorMessage": Entity.ERROR_TEXT,
        "Responses.Partitions.AcknowledgeErrorMessage": Entity.ERROR_TEXT,
        "NodeEndpoints.Host": Entity.BROKER_HOST,
    },
    "ShareAcknowledgeRequest": _members("MemberId") | {"Topics.TopicId": Entity.TOPIC_ID},
    "ShareAcknowledgeResponse": _neutral("NodeEndpoints.Rack")
    | {
        "ErrorMessage": Entity.ERROR_TEXT,
        "Responses.TopicId": Entity.TOPIC_ID,
        "Responses.Partitions.ErrorMessage": Entity.ERROR_TEXT,
        "NodeEndpoints.Host": Entity.BROKER_HOST,
    },
    "DescribeShareGroupOffsetsRequest": {},
    "DescribeShareGroupOffsetsResponse": {
        "Groups.Topics.TopicId": Entity.TOPIC_ID,
        "Groups.Topics.Partitions.ErrorMessage": Entity.ERROR_TEXT,
        "Groups.ErrorMessage": Entity.ERROR_TEXT,
    },
    "AlterShareGroupOffsetsRequest": {},
    "AlterShareGroupOffsetsResponse": {
        "ErrorMessage": Entity.ERROR_TEXT,
        "Responses.TopicId": Entity.TOPIC_ID,
        "Responses.Partitions.ErrorMessage": Entity.ERROR_TEXT,
    },
    "DeleteShareGroupOffsetsRequest": {},
    "DeleteShareGroupOffsetsResponse": {
        "ErrorMessage": Entity.ERROR_TEXT,
        "Responses.TopicId": Entity.TOPIC_ID,
        "Responses.ErrorMessage": Entity.ERROR_TEXT,
    },
    # UserEndpoint is the application's own address, told to its other instances.
    "StreamsGroupHeartbeatRequest": _neutral(
        "InstanceId RackId Topology.Subtopologies.SubtopologyId "
        "Topology.Subtopologies.StateChangelogTopics.TopicConfigs.Key "
        "Topology.Subtopologies.StateChangelogTopics.TopicConfigs.Value "
        "Topology.Subtopologies.RepartitionSourceTopics.TopicConfigs.Key "
        "Topology.Subtopologies.RepartitionSourceTopics.TopicConfigs.Value ActiveTasks.SubtopologyId "
        "StandbyTasks.SubtopologyId WarmupTasks.SubtopologyId ProcessId UserEndpoint.Host "
        "ClientTags.Key ClientTags.Value TaskOffsets.SubtopologyId TaskEndOffsets.SubtopologyId"
    )
    | {"MemberId": Entity.MEMBER_ID, "Topology.Subtopologies.SourceTopicRegex": Entity.TOPIC_REGEX},
    "StreamsGroupHeartbeatResponse": _neutral(
        "ActiveTasks.SubtopologyId StandbyTasks.SubtopologyId WarmupTasks.SubtopologyId "
        "PartitionsByUserEndpoint.UserEndpoint.Host"
    )
    | _members("MemberId")
    | {"ErrorMessage": Entity.ERROR_TEXT, "Status.StatusDetail": Entity.ERROR_TEXT},
    "StreamsGroupDescribeRequest": {},
    "StreamsGroupDescribeResponse": _neutral(
        "Groups.GroupState Groups.Topology.Subtopologies.SubtopologyId "
        "Groups.Topology.Subtopologies.StateChangelogTopics.TopicConfigs.Key "
        "Groups.Topology.Subtopologies.StateChangelogTopics.TopicConfigs.Value "
        "Groups.Topology.Subtopologies.RepartitionSourceTopics.TopicConfigs.Key "
        "Groups.Topology.Subtopologies.RepartitionSourceTopics.TopicConfigs.Value "
        "Groups.Members.InstanceId Groups.Members.RackId "
        "Groups.Members.ProcessId Groups.Members.UserEndpoint.Host "
        "Groups.Members.ClientTags.Key Groups.Members.ClientTags.Value "
        "Groups.Members.TaskOffsets.SubtopologyId Groups.Members.TaskEndOffsets.SubtopologyId "
        "Groups.Members.Assignment.ActiveTasks.SubtopologyId "
        "Groups.Members.Assignment.StandbyTasks.SubtopologyId "
        "Groups.Members.Assignment.WarmupTasks.SubtopologyId "
        "Groups.Members.TargetAssignment.ActiveTasks.SubtopologyId "
        "Groups.Members.TargetAssignment.StandbyTasks.SubtopologyId "
        "Groups.Members.TargetAssignment.WarmupTasks.SubtopologyId"
    )
    | {
        "Groups.ErrorMessage": Entity.ERROR_TEXT,
        "Groups.Members.ClientHost": Entity.CLIENT_HOST,
        "Groups.Members.MemberId": Entity.MEMBER_ID,
        "Groups.Members.ClientId": Entity.CLIENT_ID,
    },
    "ListTransactionsRequest": _neutral("StateFilters")
    | {"TransactionalIdPattern": Entity.TRANSACTIONAL_ID_REGEX},
    "ListTransactionsResponse": _neutral("UnknownStateFilters TransactionStates.TransactionState"),
    "DescribeTransactionsRequest": {},
    "DescribeTransactionsResponse": _neutral("TransactionStates.TransactionState"),
    "DescribeProducersRequest": {},
    "DescribeProducersResponse": {"Topics.Partitions.ErrorMessage": Entity.ERROR_TEXT},
    "AlterConfigsRequest": _neutral("Resources.Configs.Name Resources.Configs.Value")
    | {"Resources.ResourceName": Entity.RESOURCE_NAME},
    "AlterConfigsResponse": {
        "Responses.ErrorMessage": Entity.ERROR_TEXT,
        "Responses.ResourceName": Entity.RESOURCE_NAME,
    },
    "IncrementalAlterConfigsRequest": _neutral("Resources.Configs.Name Resources.Configs.Value")
    | {"Resources.ResourceName": Entity.RESOURCE_NAME},
    "IncrementalAlterConfigsResponse": {
        "Responses.ErrorMessage": Entity.ERROR_TEXT,
        "Responses.ResourceName": Entity.RESOURCE_NAME,
    },
    "ListConfigResourcesRequest": {},
    "ListConfigResourcesResponse": {"ConfigResources.ResourceName": Entity.RESOURCE_NAME},
    "DescribeLogDirsRequest": {},
    "DescribeLogDirsResponse": {"Results.LogDir": Entity.LOG_DIR},
    "DescribeTopicPartitionsRequest": {},
    "DescribeTopicPartitionsResponse": {"Topics.TopicId": Entity.TOPIC_ID},
    # What a tenant calls its own users and client IDs; no broker gets or sends these (filters/quotas).
    "DescribeClientQuotasRequest": _neutral("Components.EntityType Components.Match"),
    "DescribeClientQuotasResponse": _neutral(
        "Entries.Entity.EntityType Entries.Entity.EntityName Entries.Values.Key"
    )
    | {"ErrorMessage": Entity.ERROR_TEXT},
    "AlterClientQuotasRequest": _neutral(
        "Entries.Entity.EntityType Entries.Entity.EntityName Entries.Ops.Key"
    ),
    "AlterClientQuotasResponse": _neutral("Entries.Entity.EntityType Entries.Entity.EntityName")
    | {"Entries.ErrorMessage": Entity.ERROR_TEXT},
}
