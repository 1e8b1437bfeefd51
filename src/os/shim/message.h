/* message - the kernel's structs for messages with descriptors (sendmsg(2), cmsg(3)). */
#ifndef PROCPEN_OS_SHIM_MESSAGE_H
#define PROCPEN_OS_SHIM_MESSAGE_H

#define SOL_SOCKET_LEVEL 1
#define SCM_RIGHTS_TYPE 1
#define MSG_NOSIGNAL_FLAG 0x4000
#define MSG_PEEK_FLAG 0x2
#define MSG_DONTWAIT_FLAG 0x40

struct message_part {
	void *base;
	unsigned long len;
};

struct message {
	void *name;
	int name_len;
	struct message_part *parts;
	unsigned long part_count;
	void *control;
	unsigned long control_len;
	unsigned flags;
};

/* The header of a control message; its data follow directly. */
struct message_control {
	unsigned long len; /* of this head and the data */
	int level, type;
};

#endif
