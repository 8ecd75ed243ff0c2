// SPDX-License-Identifier: Apache-2.0
/// A library in place of NVIDIA's (libnvidia-ml.so.1) that says what the file fake_nvml.txt beside it says, which is read
/// again at each call. Its lines:
///   refuse STATUS                   nvmlInit_v2() returns it
///   crash | hang                    while it is asked for the memory of a device; also "crash_in_init", "hang_in_init"
///   no_utilization                  not reported by process
///   device MINOR CAPACITY USED PERCENT NAME
///   process PID BYTES PERCENT       of the device before; "draw" instead: in the list of those that draw
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { kSuccess = 0, kNotSupported = 3, kNotFound = 6, kTooSmall = 7, kMost = 64 };

struct process {
	unsigned pid;
	unsigned long long bytes;
	unsigned percent;
	int draws;
};

struct device {
	unsigned minor;
	unsigned long long capacity;
	unsigned long long used;
	unsigned percent;
	char name[80];
	unsigned processes;
	struct process process[kMost];
};

static struct {
	char mode[256];
	int status;
	int no_utilization;
	unsigned devices;
	struct device device[8];
} said;

static void read_file(void)
{
	Dl_info here;
	char path[4096];
	char line[256];

	memset(&said, 0, sizeof(said));
	if (!dladdr((void *)read_file, &here))
		abort();
	snprintf(path, sizeof(path), "%s", here.dli_fname);
	char *name = strrchr(path, '/');
	snprintf(name, sizeof(path) - (size_t)(name - path), "/fake_nvml.txt");
	FILE *file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file)) {
		struct device next = {0};
		struct device *last = said.devices ? &said.device[said.devices - 1] : NULL;
		struct process process = {0};
		line[strcspn(line, "\n")] = 0;
		if (sscanf(line, "refuse %d", &said.status) == 1)
			continue;
		if (sscanf(line, "device %u %llu %llu %u %79[^\n]", &next.minor, &next.capacity, &next.used,
			   &next.percent, next.name) == 5) {
			if (said.devices < 8)
				said.device[said.devices++] = next;
			continue;
		}
		if (sscanf(line, "draw %u %llu %u", &process.pid, &process.bytes, &process.percent) == 3)
			process.draws = 1;
		else if (sscanf(line, "process %u %llu %u", &process.pid, &process.bytes, &process.percent) != 3) {
			if (strcmp(line, "no_utilization") == 0)
				said.no_utilization = 1;
			else
				snprintf(said.mode, sizeof(said.mode), "%s", line);
			continue;
		}
		if (last && last->processes < kMost)
			last->process[last->processes++] = process;
	}
	if (file)
		fclose(file);
}

static void misbehave(const char *crash, const char *hang)
{
	if (strcmp(said.mode, crash) == 0)
		abort();
	while (strcmp(said.mode, hang) == 0)
		pause();
}

static struct device *device_of(void *handle) { return &said.device[(size_t)handle - 1]; }

int nvmlInit_v2(void)
{
	read_file();
	misbehave("crash_in_init", "hang_in_init");
	return said.status;
}

int nvmlSystemGetNVMLVersion(char *text, unsigned size) { return snprintf(text, size, "12.999.1"), kSuccess; }
int nvmlSystemGetDriverVersion(char *text, unsigned size) { return snprintf(text, size, "999.1"), kSuccess; }

int nvmlDeviceGetCount_v2(unsigned *count)
{
	read_file();
	*count = said.devices;
	return kSuccess;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle)
{
	*handle = (void *)(size_t)(index + 1);
	return kSuccess;
}

int nvmlDeviceGetMinorNumber(void *handle, unsigned *minor) { return *minor = device_of(handle)->minor, kSuccess; }

int nvmlDeviceGetName(void *handle, char *text, unsigned size)
{
	return snprintf(text, size, "%s", device_of(handle)->name), kSuccess;
}

int nvmlDeviceGetUUID(void *handle, char *text, unsigned size)
{
	return snprintf(text, size, "GPU-fake-%u", device_of(handle)->minor), kSuccess;
}

int nvmlDeviceGetMemoryInfo(void *handle, unsigned long long info[3])
{
	misbehave("crash", "hang");
	info[0] = device_of(handle)->capacity;
	info[1] = device_of(handle)->capacity - device_of(handle)->used;
	info[2] = device_of(handle)->used;
	return kSuccess;
}

int nvmlDeviceGetUtilizationRates(void *handle, unsigned percent[2])
{
	percent[0] = device_of(handle)->percent;
	percent[1] = 0;
	return kSuccess;
}

struct info {
	unsigned pid;
	unsigned long long bytes;
	unsigned gpu_instance;
	unsigned compute_instance;
};

static int processes(const struct device *device, unsigned *count, struct info *infos, int draws)
{
	unsigned found = 0;

	for (unsigned i = 0; i < device->processes; i++) {
		const struct process *each = &device->process[i];
		if (each->draws != draws)
			continue;
		if (found == *count)
			return kTooSmall;
		infos[found++] = (struct info){each->pid, each->bytes, ~0u, ~0u};
	}
	*count = found;
	return kSuccess;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *handle, unsigned *count, struct info *infos)
{
	return processes(device_of(handle), count, infos, 0);
}

int nvmlDeviceGetGraphicsRunningProcesses_v2(void *handle, unsigned *count, struct info *infos)
{
	return processes(device_of(handle), count, infos, 1);
}

struct sample {
	unsigned pid;
	unsigned long long time_us;
	unsigned sm, memory, encoder, decoder;
};

int nvmlDeviceGetProcessUtilization(void *handle, struct sample *samples, unsigned *count, unsigned long long seen_us)
{
	const struct device *device = device_of(handle);
	struct timespec now;
	unsigned found = 0;

	if (said.no_utilization)
		return kNotSupported;
	clock_gettime(CLOCK_REALTIME, &now);
	/* A stale sample is left in the buffer. */
	if (*count > 0 && seen_us != 0)
		samples[found++] = (struct sample){device->processes ? device->process[0].pid : 1, seen_us - 1, 1000, 0, 0, 0};
	for (unsigned i = 0; i < device->processes && found < *count; i++)
		if (device->process[i].percent != 0)
			samples[found++] = (struct sample){device->process[i].pid,
							   (unsigned long long)now.tv_sec * 1000000 + (unsigned long long)now.tv_nsec / 1000,
							   device->process[i].percent, 0, 0, 0};
	*count = found;
	return found == 0 ? kNotFound : kSuccess;
}
