const report = JSON.parse(document.getElementById('report').textContent);
document.getElementById('source').textContent = `${report.source}, partition ${report.partition}`;
for (const queue of report.queues) {
    const item = document.createElement('li');
    item.textContent = queue.path;
    document.getElementById('queues').append(item);
}
